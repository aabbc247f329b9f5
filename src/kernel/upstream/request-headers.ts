const namePattern = /^[\w!#$%&'*+\-.^`|~]+$/;
const valuePattern = /^[\t\x20-\x7e]*$/;

/** Headers that describe the connection or the body: only the HTTP client sets them, so that nobody can smuggle a request. */
const reservedNames = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Some providers refuse requests without a `user-agent`; decompressing answers costs more than it saves. */
const defaults = { accept: "*/*", "accept-encoding": "identity", "user-agent": "modelgate" };

/**
 * Headers of a request: the defaults, then those given, later ones replacing earlier ones whatever their case.
 *
 * @throws {TypeError} When a name or a value cannot stand in a header. The value may be a key and is not shown.
 */
export function createHeaders(...given: (Readonly<Record<string, string>> | undefined)[]): Record<string, string> {
  const headers: Record<string, string> = { ...defaults };
  for (const [name, value] of given.flatMap((some) => Object.entries(some ?? {}))) {
    const lower = name.toLowerCase();
    if (!namePattern.test(name)) throw new TypeError(`Cannot send the header ${JSON.stringify(name)}: invalid name`);
    if (reservedNames.has(lower)) {
      throw new TypeError(`Cannot send the header '${lower}': only the gateway sets it`);
    }
    if (!valuePattern.test(value)) {
      throw new TypeError(`Cannot send the header '${lower}': its value has a character that is not printable ASCII`);
    }
    headers[lower] = value;
  }
  return headers;
}
