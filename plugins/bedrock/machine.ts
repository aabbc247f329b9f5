import { type AuthorizedRequest, isRecord, parseJson, UpstreamError } from "modelgate/plugin";

type TokenResponse = Awaited<ReturnType<AuthorizedRequest["askMachine"]>>;

/** Keys of a role that end. */
export interface TemporaryKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

const roles = "/latest/meta-data/iam/security-credentials/";

/**
 * The keys of the machine's role: of a container by one request
 * (https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html), of an instance by three
 * (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html).
 *
 * @throws {UpstreamError} `auth` when the machine has no role or its service gives no keys.
 */
export async function readMachineKeys(
  { askMachine }: Pick<AuthorizedRequest, "askMachine">,
  isInstance: boolean,
): Promise<{ value: TemporaryKeys; expiresAt: number }> {
  if (!isInstance) return toKeys(await askMachine({}));
  const requested = { "x-aws-ec2-metadata-token-ttl-seconds": "300" };
  const token = expectBody(await askMachine({ path: "/latest/api/token", method: "PUT", headers: requested }));
  const headers = { "x-aws-ec2-metadata-token": token };
  const [role = ""] = expectBody(await askMachine({ path: roles, headers })).split("\n");
  return toKeys(await askMachine({ path: roles + encodeURIComponent(role.trim()), headers }));
}

function expectBody({ status, body }: TokenResponse): string {
  if (status === 200 && /^[\x20-\x7e\n]+$/.test(body)) return body;
  throw new UpstreamError(
    "auth",
    `The machine's service for credentials answered ${status}: the machine may have no role`,
  );
}

function toKeys({ status, body }: TokenResponse): { value: TemporaryKeys; expiresAt: number } {
  const answer = parseJson(body, "document");
  const {
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    ...rest
  }: Record<string, unknown> = isRecord(answer) ? answer : {};
  const { Token: sessionToken, Expiration: end } = rest;
  const expiresAt = typeof end === "string" ? Date.parse(end) : Number.NaN;
  const isText = (text: unknown): text is string => typeof text === "string" && /^[\x21-\x7e]+$/.test(text);
  if (status === 200 && isText(accessKeyId) && isText(secretAccessKey) && isText(sessionToken) && expiresAt > 0) {
    return { value: { accessKeyId, secretAccessKey, sessionToken }, expiresAt };
  }
  throw new UpstreamError("auth", `The machine's service for credentials answered ${status} without keys`);
}
