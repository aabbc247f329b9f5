import { type AuthorizedRequest, bearer, type CredentialForm, type ProviderCredential } from "modelgate/plugin";
import { signAws } from "./sign.ts";

/** A Bedrock API key, or the access key of a user or role. https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html */
export const credential: CredentialForm = {
  fields: [
    { name: "region", label: "Region", pattern: "[a-z]{2}(-[a-z]+)+-\\d", example: "us-east-1" },
    { name: "api_key", label: "Bedrock API key", secret: true },
    { name: "access_key_id", label: "Access key ID", pattern: "\\w{16,128}", example: "AKIAIOSFODNN7EXAMPLE" },
    { name: "secret_access_key", label: "Secret access key", secret: true },
    { name: "session_token", label: "Session token, of temporary credentials", secret: true },
  ],
  sets: [
    ["region", "api_key"],
    ["region", "access_key_id", "secret_access_key"],
  ],
  baseUrl({ region = "" }) {
    const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    return `https://bedrock-runtime.${region}.${domain}`;
  },
};

export async function authorize(
  { method, url, headers, body }: AuthorizedRequest,
  { fields }: ProviderCredential,
): Promise<Record<string, string>> {
  const { region = "", api_key, access_key_id: accessKeyId, secret_access_key: secretAccessKey } = fields;
  if (api_key !== undefined) return bearer(api_key);
  if (accessKeyId === undefined || secretAccessKey === undefined) throw new TypeError("The credential has no key");
  if (typeof body === "object") throw new TypeError("Cannot sign a form");
  const keys = { region, accessKeyId, secretAccessKey, sessionToken: fields.session_token, service: "bedrock" };
  return await signAws({ method, url, headers, body: body ?? "" }, keys, Date.now());
}
