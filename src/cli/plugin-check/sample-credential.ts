import { formatCredential, getForm, type ProviderPlugin } from "../../provider/index.ts";

/** A credential of a plugin for simulated calls: the secret where one key is wanted, or the fields of one way to sign in. */
export function sampleCredential({ credential }: Pick<ProviderPlugin, "credential">, secret: string): string {
  const form = getForm(credential);
  if (form === undefined) return secret;
  const isFile = (name: string) => form.fields.find((field) => field.name === name)?.isFile === true;
  // A document cannot be made up.
  const method = form.methods.find(({ fields }) => !fields.some(isFile)) ?? form.methods[0];
  const names = [...(method?.fields ?? []), ...(method?.optional ?? [])];
  const values = form.fields
    .filter(({ name }) => names.includes(name))
    .map(({ name, secret: isSecret, example }) => [name, isSecret === true ? secret : (example ?? secret)]);
  return formatCredential(form, Object.fromEntries(values));
}
