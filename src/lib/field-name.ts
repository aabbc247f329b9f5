/** The field that the name of a member (`reasoning.effort`) or of a place in a list (`tools[2]`) begins with. */
export function headOf(name: string): string {
  return name.split(/[.[]/, 1)[0] as string;
}

/** The most fields that one answer names. */
const namesMax = 40;

/** Adds the fields whose names a header can hold, within bounds: a name may be a client's own. */
export function addFieldNames(names: Set<string>, fields: Iterable<string>): void {
  for (const field of fields) if (names.size < namesMax && /^[\w.[\]-]{1,64}$/.test(field)) names.add(field);
}
