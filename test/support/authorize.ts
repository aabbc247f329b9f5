import { formatCredential, getForm, type ProviderPlugin, readCredential } from "../../src/provider/index.ts";

/** The headers by which a plugin carries a key, or the fields of a credential, for a request that matters little. */
export async function headersOf(
  plugin: Pick<ProviderPlugin, "authorize" | "credential">,
  secret: string | Record<string, string>,
  url = "https://acme.example/v1/chat",
): Promise<Record<string, string>> {
  const form = getForm(plugin.credential);
  const text = typeof secret === "string" || form === undefined ? String(secret) : formatCredential(form, secret);
  const postForm = () => Promise.reject(new Error("No token is fetched here"));
  return await plugin.authorize(
    { method: "POST", url, headers: {}, body: "{}", postForm, askMachine: postForm },
    readCredential(text),
  );
}
