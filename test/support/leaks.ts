/** Of names whose values nobody may see, whatever a test is about. */
const secretName = /(_API_KEY|SECRET|SECRET_KEY|TOKEN|PASSWORD)$/;
/** Shorter ones of a test stand in other words. */
const charactersMin = 12;

/**
 * Refuses output of a gateway or a command that holds a secret of its environment. All gateways of the suite and all
 * commands they are asked are looked at by this.
 *
 * @throws {Error} Naming the variable and the place.
 */
export function expectNoSecret(env: Readonly<Record<string, string>>, output: string): void {
  for (const [name, value] of Object.entries(env)) {
    for (const secret of secretsOf(name, value)) {
      const at = secret.length < charactersMin ? -1 : output.indexOf(secret);
      if (at === -1) continue;
      throw new Error(`The secret of ${name} was said: …${output.slice(Math.max(0, at - 200), at)}[here]…`);
    }
  }
}

function secretsOf(name: string, value: string): string[] {
  if (name === "MODELGATE_BOOTSTRAP_KEY") return [value.split("-").slice(3).join("-")];
  if (secretName.test(name)) return value.split(",");
  const password = URL.parse(value)?.password;
  return password === undefined || password === "" ? [] : [password];
}
