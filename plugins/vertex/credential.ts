import {
  type AuthorizedRequest,
  bearer,
  type CredentialForm,
  fetchToken,
  isRecord,
  type ProviderCredential,
  parseJson,
} from "modelgate/plugin";
import type { CredentialFields } from "../../src/provider/index.ts";

/** A service account, as Google writes it into a file. */
interface ServiceAccount {
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly token_uri: string;
}

const scope = "https://www.googleapis.com/auth/cloud-platform";
const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/** Google takes no longer one. */
const lifeSeconds = 3600;

/** A service account in a project and a place, or a key of Express mode. */
export const credential: CredentialForm = {
  fields: [
    { name: "project", label: "Project", pattern: "[a-z][a-z0-9:.-]{3,80}", example: "my-project-1234" },
    { name: "location", label: "Location", pattern: "[a-z]+(-[a-z]+\\d+)?", example: "global" },
    { name: "service_account", label: "Key of the service account (JSON)", secret: true, isFile: true },
    { name: "api_key", label: "API key", secret: true },
    {
      name: "machine",
      label: "The gateway runs in",
      example: "google",
      choices: [{ value: "google", label: "Google Cloud" }],
    },
  ],
  methods: [
    {
      name: "service_account",
      label: "Service account",
      hint: "Paste the file of its key. The account needs the role Vertex AI User.",
      fields: ["project", "location", "service_account"],
    },
    {
      name: "api_key",
      label: "API key of Express mode",
      hint: "It serves Gemini without a project.",
      fields: ["api_key"],
    },
    {
      name: "machine_role",
      label: "Role of the machine",
      hint: "No key is stored: Google Cloud gives the gateway tokens of the machine's service account.",
      fields: ["project", "location", "machine"],
    },
  ],
  machine: ({ machine }) => (machine === undefined ? undefined : "google"),
  baseUrl: ({ location = "global" }) => `https://${hostOf(location)}`,
  basePath({ project, location, api_key: key }) {
    const place = key === undefined ? `/projects/${project}/locations/${location}` : "";
    return `/v1${place}/publishers`;
  },
  tokenUrls({ service_account: text }) {
    const account = readAccount(text);
    return account === undefined ? [] : [account.token_uri];
  },
  check({ service_account: text }) {
    if (text === undefined || readAccount(text) !== undefined) return undefined;
    return "service_account: it is not the JSON of a service account's key, with client_email, private_key and token_uri";
  },
};

/** https://cloud.google.com/vertex-ai/docs/reference/rest#service-endpoint */
export function hostOf(location: string): string {
  if (location === "global") return "aiplatform.googleapis.com";
  return /^(us|eu)$/.test(location)
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`;
}

export async function authorize(
  request: AuthorizedRequest,
  owner: ProviderCredential,
): Promise<Record<string, string>> {
  const { api_key: key, machine } = owner.fields;
  if (key !== undefined) return { "x-goog-api-key": key };
  return bearer(await fetchToken(request, owner, machine === undefined ? askForToken : askMachine));
}

/** https://cloud.google.com/compute/docs/access/authenticate-workloads#applications */
function askMachine() {
  const path = "/computeMetadata/v1/instance/service-accounts/default/token";
  return { machine: { path, headers: { "metadata-flavor": "Google" } } };
}

/** https://developers.google.com/identity/protocols/oauth2/service-account#httprest */
async function askForToken({ service_account: text }: CredentialFields) {
  const account = readAccount(text);
  if (account === undefined) throw new TypeError("The credential has no service account");
  return { url: account.token_uri, form: { grant_type: grantType, assertion: await sign(account, Date.now()) } };
}

/** A JWT that says who asks for a token, signed by the key of the service account. */
async function sign({ client_email, private_key, private_key_id, token_uri }: ServiceAccount, nowMs: number) {
  const now = Math.floor(nowMs / 1000);
  const head = { alg: "RS256", typ: "JWT", ...(private_key_id !== undefined && { kid: private_key_id }) };
  const claims = { iss: client_email, sub: client_email, aud: token_uri, scope, iat: now, exp: now + lifeSeconds };
  const text = [head, claims].map((part) => encode(new TextEncoder().encode(JSON.stringify(part)))).join(".");
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("pkcs8", readPem(private_key), algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign(algorithm, key, new TextEncoder().encode(text));
  return `${text}.${encode(new Uint8Array(signature))}`;
}

function readPem(pem: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(pem.replace(/-----[^-]+-----|\s/g, "")), (char) => char.charCodeAt(0));
}

function encode(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

function readAccount(text: string | undefined): ServiceAccount | undefined {
  const account = text === undefined ? undefined : parseJson(text, "file");
  if (!isRecord(account)) return undefined;
  const { client_email: email, private_key: key, token_uri: url = "https://oauth2.googleapis.com/token" } = account;
  const isWhole = typeof email === "string" && typeof key === "string" && /^-----BEGIN PRIVATE KEY-----\s/.test(key);
  if (!isWhole || typeof url !== "string" || !URL.canParse(url) || !/^https?:/.test(url)) return undefined;
  return { ...(account as unknown as ServiceAccount), token_uri: url };
}
