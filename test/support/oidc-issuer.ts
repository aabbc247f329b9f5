import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import Provider from "oidc-provider";

/** Who signs in at the issuer. */
export interface OidcPerson {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
  groups?: unknown;
}

/** A true issuer on loopback, at which the person of the moment signs in without being asked. */
export interface OidcIssuer {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  person: OidcPerson;
  /** Goes as a browser from an address of the issuer until it is sent back to the gateway, and returns that address. */
  visit(address: string): Promise<URL>;
  stop(): Promise<void>;
}

const clientId = "modelgate";
const clientSecret = "a-secret-of-the-issuer-for-modelgate";
const stepsMax = 10;

/** Starts one that sends people back to this address alone. PKCE is asked of everybody. */
export async function startOidcIssuer(redirectUri: string): Promise<OidcIssuer> {
  let serve: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const server = createServer((request, response) => {
    serve(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const issuer: OidcIssuer = {
    url,
    clientId,
    clientSecret,
    person: { sub: "ada" },
    visit: (address) => visit(address, url),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const provider = new Provider(url, optionsOf(issuer, redirectUri));
  const answer = provider.callback();
  serve = (request, response) => {
    if (request.url?.startsWith("/interaction/")) void signIn(provider, issuer, { request, response });
    else answer(request, response);
  };
  return issuer;
}

function optionsOf(issuer: OidcIssuer, redirectUri: string) {
  return {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri], ...oneMethod }],
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
    cookies: { keys: ["a key for the cookies of a test"] },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({ ...issuer.person, sub: accountId }),
    }),
  };
}

const oneMethod = { token_endpoint_auth_method: "client_secret_post" };

async function signIn(
  provider: Provider,
  { person }: OidcIssuer,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const { prompt, params } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    await provider.interactionFinished(request, response, { login: { accountId: person.sub } });
    return;
  }
  const grant = new provider.Grant({ accountId: person.sub, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

async function visit(address: string, issuerUrl: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let at = new URL(address);
  for (let step = 0; step < stepsMax; step++) {
    if (at.origin !== issuerUrl) return at;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(at, { headers: { cookie }, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      cookies.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1));
    }
    const location = response.headers.get("location");
    if (location === null)
      throw new Error(`The issuer answered ${response.status} at ${at.pathname}: ${await response.text()}`);
    at = new URL(location, at);
  }
  throw new Error(`The issuer sent the browser on more than ${stepsMax} times`);
}
