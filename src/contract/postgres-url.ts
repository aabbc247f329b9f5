/** Parameters of a PostgreSQL URL that its driver reads, with their words where there are but a few. */
const parameters: Readonly<Record<string, readonly string[] | undefined>> = {
  sslmode: ["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"],
  ssl: ["true", "false", "1", "0", "no-verify"],
  sslcert: undefined,
  sslkey: undefined,
  sslrootcert: undefined,
  sslnegotiation: ["postgres", "direct"],
  uselibpqcompat: ["true", "false"],
  options: undefined,
  host: undefined,
  port: undefined,
  user: undefined,
  password: undefined,
  statement_timeout: undefined,
  lock_timeout: undefined,
  idle_in_transaction_session_timeout: undefined,
  query_timeout: undefined,
};

/** Where a database is. */
export interface PostgresUrl {
  /** A URL for each of its servers. They are tried in this order. */
  readonly servers: readonly string[];
  /** The whole URL without its password and parameters, for messages. */
  readonly shown: string;
}

const urlForm = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^@/?#]*)(\/[^/?#]+)(?:\?([^#]*))?$/;

/**
 * Reads a PostgreSQL URL, which may name several servers of a cluster:
 * `postgres://user:password@one:5432,two:5432/name`. The gateway needs a server that takes writes, so
 * `target_session_attrs` may demand that and nothing else.
 *
 * @throws {RangeError} With what is wrong, without any part that may be secret.
 */
export function parsePostgresUrl(text: string): PostgresUrl {
  const [, scheme, login, authority = "", path, query = ""] = urlForm.exec(text) ?? [];
  const hosts = authority.split(",");
  const [user] = login === undefined ? [] : login.split(":", 1);
  const parts = query.split("&").filter((part) => part !== "");
  const isOfUs = (part: string) => part.startsWith("target_session_attrs=");
  const rest = parts.filter((part) => !isOfUs(part)).join("&");
  const before = `${scheme}${login === undefined ? "" : `${login}@`}`;
  const servers = hosts.map((host) => `${before}${host}${path}${rest === "" ? "" : `?${rest}`}`);
  const isUrl = servers.every((server) => (URL.parse(server)?.hostname ?? "") !== "");
  if (scheme === undefined || !isUrl) throw new RangeError("its value is invalid");
  checkParameters(new URLSearchParams(query), hosts.length);
  return { servers, shown: `${scheme}${user === undefined || user === "" ? "" : `${user}@`}${authority}${path}` };
}

function checkParameters(query: URLSearchParams, hosts: number): void {
  for (const [name, value] of query) {
    if (name === "target_session_attrs") {
      if (value === "read-write" || value === "primary") continue;
      throw new RangeError("its target_session_attrs is neither read-write nor primary, and the gateway has to write");
    }
    if (name === "application_name")
      throw new RangeError("it has application_name, which gateways use to find each other");
    if (!Object.hasOwn(parameters, name)) {
      const shown = /^[A-Za-z_]{1,40}$/.test(name) ? name : "with an odd name";
      const names = Object.keys(parameters).join(", ");
      throw new RangeError(`its parameter ${shown} would have no effect; those that have are ${names}`);
    }
    const words = parameters[name];
    if (words !== undefined && !words.includes(value)) {
      throw new RangeError(`its ${name} is not one of ${words.join(", ")}`);
    }
    if (hosts > 1 && (name === "host" || name === "port")) {
      throw new RangeError(`it has several hosts, and ${name} as a parameter`);
    }
  }
}
