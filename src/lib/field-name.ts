/** The field that the name of a member (`reasoning.effort`) or of a place in a list (`tools[2]`) begins with. */
export function headOf(name: string): string {
  return name.split(/[.[]/, 1)[0] as string;
}

/** Whether a header can hold the name of a field, which may be a client's own. */
export function isFieldName(name: string): boolean {
  return /^[\w.[\]-]{1,64}$/.test(name);
}
