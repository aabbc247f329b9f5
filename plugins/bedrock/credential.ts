import { type AuthorizedRequest, bearer, type CredentialForm, type ProviderCredential } from "modelgate/plugin";
import { fetchFresh } from "../../src/protocols/fetch-token.ts";
import { readMachineKeys } from "./machine.ts";
import { signAws } from "./sign.ts";

/** A Bedrock API key, or the access key of a user or role. https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html */
export const credential: CredentialForm = {
  fields: [
    { name: "region", label: "Region", pattern: "[a-z]{2}(-[a-z]+)+-\\d", example: "us-east-1" },
    { name: "api_key", label: "Bedrock API key", secret: true },
    { name: "access_key_id", label: "Access key ID", pattern: "\\w{16,128}", example: "AKIAIOSFODNN7EXAMPLE" },
    { name: "secret_access_key", label: "Secret access key", secret: true },
    { name: "session_token", label: "Session token", secret: true, hint: "Only with temporary keys." },
    {
      name: "machine",
      label: "The gateway runs in",
      example: "container",
      choices: [
        { value: "container", label: "A container of ECS or EKS" },
        { value: "instance", label: "An instance of EC2" },
      ],
    },
  ],
  methods: [
    {
      name: "api_key",
      label: "API key",
      hint: "AWS makes it on the page API keys of Bedrock.",
      fields: ["region", "api_key"],
    },
    {
      name: "access_key",
      label: "Access key of a user",
      hint: "The user needs the permission bedrock:InvokeModel. Each request is signed with the key.",
      fields: ["region", "access_key_id", "secret_access_key"],
      optional: ["session_token"],
    },
    {
      name: "machine_role",
      label: "Role of the machine",
      hint: "No key is stored: AWS gives the gateway's container or instance keys of its role, and renews them.",
      fields: ["region", "machine"],
    },
  ],
  baseUrl({ region = "" }) {
    const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    return `https://bedrock-runtime.${region}.${domain}`;
  },
  machine: ({ machine }) =>
    machine === undefined ? undefined : machine === "instance" ? "aws-instance" : "aws-container",
};

export async function authorize(
  request: AuthorizedRequest,
  credential: ProviderCredential,
): Promise<Record<string, string>> {
  const { region = "", api_key } = credential.fields;
  if (api_key !== undefined) return bearer(api_key);
  const { method, url, headers, body } = request;
  if (typeof body === "object") throw new TypeError("Cannot sign a form");
  const keys = await readKeys(request, credential);
  return await signAws({ method, url, headers, body: body ?? "" }, { region, service: "bedrock", ...keys }, Date.now());
}

async function readKeys(request: AuthorizedRequest, credential: ProviderCredential) {
  const { machine, access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token } = credential.fields;
  if (machine !== undefined) {
    return await fetchFresh(credential, readMachineKeys, () => readMachineKeys(request, machine === "instance"));
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) throw new TypeError("The credential has no key");
  return { accessKeyId, secretAccessKey, sessionToken: session_token };
}
