import { formatCredential, getForm, type ProviderPlugin } from "../../provider/index.ts";

/** A credential of a plugin for simulated calls: the secret where one key is wanted, or the fields of one set of them. */
export function sampleCredential({ credential }: Pick<ProviderPlugin, "credential">, secret: string): string {
  const form = getForm(credential);
  if (form === undefined) return secret;
  const isFile = (name: string) => form.fields.find((field) => field.name === name)?.isFile === true;
  // A document cannot be made up.
  const set = form.sets.find((names) => !names.some(isFile)) ?? form.sets[0] ?? [];
  const inSets = new Set(form.sets.flat());
  const values = form.fields
    .filter(({ name }) => set.includes(name) || !inSets.has(name))
    .map(({ name, secret: isSecret, example }) => [name, isSecret === true ? secret : (example ?? secret)]);
  return formatCredential(form, Object.fromEntries(values));
}
