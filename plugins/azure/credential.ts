import {
  type AuthorizedRequest,
  bearer,
  type CredentialForm,
  fetchToken,
  type ProviderCredential,
} from "modelgate/plugin";
import type { CredentialFields } from "../../src/provider/index.ts";

const authorityDefault = "https://login.microsoftonline.com";
/**
 * Audience of a token, by the cloud of its authority.
 * https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud
 */
const audiences: Readonly<Record<string, string>> = {
  "login.microsoftonline.us": "https://cognitiveservices.azure.us",
  "login.partner.microsoftonline.cn": "https://cognitiveservices.azure.cn",
  "login.chinacloudapi.cn": "https://cognitiveservices.azure.cn",
};

/** A key of a resource, or an application of Entra ID. */
export const credential: CredentialForm = {
  fields: [
    {
      name: "resource",
      label: "Resource",
      pattern: "[a-zA-Z0-9][a-zA-Z0-9-]{1,62}",
      example: "my-resource",
      hint: "The name in https://RESOURCE.openai.azure.com. Leave it out where AZURE_BASE_URL is set.",
    },
    { name: "api_key", label: "API key", secret: true },
    { name: "tenant_id", label: "Tenant ID", pattern: "[\\w.-]{1,100}", example: "contoso.onmicrosoft.com" },
    {
      name: "client_id",
      label: "Client ID",
      pattern: "[\\w-]{1,100}",
      example: "00000000-0000-0000-0000-000000000000",
    },
    { name: "client_secret", label: "Client secret", secret: true },
    {
      name: "authority",
      label: "Authority",
      example: authorityDefault,
      hint: "Only for Azure Government, Azure in China and other clouds of their own.",
    },
  ],
  methods: [
    {
      name: "api_key",
      label: "API key",
      hint: "Azure shows the keys of a resource under Keys and Endpoint.",
      fields: ["api_key"],
      optional: ["resource"],
    },
    {
      name: "entra_application",
      label: "Entra ID application",
      hint: "The application needs the role Cognitive Services OpenAI User on the resource.",
      fields: ["tenant_id", "client_id", "client_secret"],
      optional: ["resource", "authority"],
    },
  ],
  baseUrl: ({ resource }) => (resource === undefined ? undefined : `https://${resource}.openai.azure.com/openai/v1`),
  tokenUrls: (fields) => (fields.client_secret === undefined ? [] : [tokenUrlOf(fields)]),
  check({ authority }) {
    const isUrl = authority === undefined || /^https?:\/\/[^/?#@]+\/?$/.test(authority);
    return isUrl ? undefined : `authority: it is not an origin, expected one such as ${authorityDefault}`;
  },
};

export async function authorize(
  request: AuthorizedRequest,
  owner: ProviderCredential,
): Promise<Record<string, string>> {
  const { api_key: key } = owner.fields;
  if (key === undefined) return bearer(await fetchToken(request, owner, askForToken));
  // Claude's endpoint takes the header of its own protocol.
  const isAnthropic = new URL(request.url).pathname.startsWith("/anthropic/");
  return { [isAnthropic ? "x-api-key" : "api-key"]: key };
}

/** https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow */
function askForToken(fields: CredentialFields) {
  const { client_id = "", client_secret = "", authority = authorityDefault } = fields;
  const audience = audiences[new URL(authority).host] ?? "https://cognitiveservices.azure.com";
  const form = { grant_type: "client_credentials", client_id, client_secret, scope: `${audience}/.default` };
  return { url: tokenUrlOf(fields), form };
}

function tokenUrlOf({ tenant_id = "", authority = authorityDefault }: CredentialFields): string {
  return `${authority.replace(/\/$/, "")}/${tenant_id}/oauth2/v2.0/token`;
}
