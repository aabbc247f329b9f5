const nameForm = /^[\w!#$%&'*+\-.^`|~]+$/;
const valueForm = /^[\t\x20-\x7e]*$/;

/** What the client says by itself, and nobody else may: two voices here are how requests are smuggled. */
const ownNames = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Some providers refuse requests without a `user-agent`; compressed answers cost more than they save. */
const defaults = { accept: "*/*", "accept-encoding": "identity", "user-agent": "modelgate" };

/**
 * The lines of a request's headers, without those that describe its body.
 *
 * @throws {TypeError} When a name or a value cannot stand in a header; the value, which may be a key, is not named.
 */
export function headerLines(hostHeader: string, headers: Readonly<Record<string, string>>): string {
  const all = new Map<string, string>(Object.entries(defaults));
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!nameForm.test(name)) throw new TypeError(`Cannot send the header ${JSON.stringify(name)}: it is no name`);
    if (ownNames.has(lower)) throw new TypeError(`Cannot send the header '${lower}': it is set by the gateway alone`);
    if (!valueForm.test(value)) {
      throw new TypeError(`Cannot send the header '${lower}': its value has a character that no header takes`);
    }
    all.set(lower, value);
  }
  let lines = `host: ${hostHeader}\r\n`;
  for (const [name, value] of all) lines += `${name}: ${value}\r\n`;
  return lines;
}
