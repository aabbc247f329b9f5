import { UpstreamFault } from "../../contract/index.ts";

/** Why there is no connection, by the code of the error: nothing of the request was sent. */
const notConnected: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "its host name is unknown",
  EAI_AGAIN: "its host name could not be looked up",
  EAI_FAIL: "its host name could not be looked up",
  EHOSTUNREACH: "its host is unreachable",
  ENETUNREACH: "its network is unreachable",
  EMFILE: "the gateway has no more file descriptors; raise its limit (ulimit -n)",
  EADDRNOTAVAIL: "the gateway's machine has no free port",
  EPROTO: "the TLS handshake failed",
  ERR_PROXY_TUNNEL: "the proxy refused to connect",
};

/** Codes of OpenSSL and of the host name check for a certificate that is not accepted. */
const certificateCode = /CERT|ALTNAME|UNABLE_TO|ISSUER|HOSTNAME_MISMATCH|INVALID_CA/;

/** A connection to a provider that failed. */
export class ConnectionError extends UpstreamFault {
  /** Whether the provider may have received the request. */
  readonly wasSent: boolean;
  /** Whether the connection was closed before an answer began. */
  readonly isReset: boolean;

  /** @param error What `fetch` was rejected with. Only its code is shown: its message may name hosts. */
  constructor(error: unknown, isAnswering = false) {
    const code = readCode(error);
    const isTimeout = code === "ETIMEDOUT" && !isAnswering;
    const reason =
      notConnected[code] ?? (certificateCode.test(code) ? `certificate not accepted (${code})` : undefined);
    super(isTimeout ? "timeout" : "bad_response", describeError(code, reason, isAnswering), { cause: error });
    this.wasSent = isAnswering || (reason === undefined && !isTimeout);
    this.isReset = !isAnswering && (code === "ECONNRESET" || code === "EPIPE");
  }
}

function describeError(code: string, reason: string | undefined, isAnswering: boolean): string {
  if (isAnswering) return "The connection to the provider was closed in the middle of its answer";
  if (code === "ETIMEDOUT") return "Timed out connecting to the provider";
  if (reason !== undefined) return `Cannot connect to the provider: ${reason}`;
  if (code === "ECONNRESET" || code === "EPIPE") return "The connection to the provider was closed before it answered";
  return `The connection to the provider failed${code === "" ? "" : ` (${code})`}`;
}

function readCode(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && /^\w{1,64}$/.test(code) ? code : "";
}
