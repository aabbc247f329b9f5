/** Tags and agents: the same characters as sessions, at most 64. Anything else is ignored. */
const tagForm = /^[A-Za-z0-9][\w.:/+=@ -]{0,63}$/;

export function toTag(name: unknown): string | undefined {
  return typeof name === "string" && tagForm.test(name) ? name : undefined;
}
