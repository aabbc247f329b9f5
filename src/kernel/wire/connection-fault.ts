import { UpstreamFault } from "../../contract/index.ts";

const reasons: Record<string, string> = {
  ECONNREFUSED: "it was refused",
  ECONNRESET: "it was reset",
  EPIPE: "it was reset",
  ENOTFOUND: "its host name is not known",
  EAI_AGAIN: "its host name could not be looked up",
  EAI_FAIL: "its host name could not be looked up",
  EHOSTUNREACH: "its host cannot be reached",
  ENETUNREACH: "its network cannot be reached",
  EMFILE: "the gateway has no more file descriptors; raise its limit (ulimit -n)",
  EADDRNOTAVAIL: "the gateway's machine has no more free ports",
};

/** One sentence on why a connection failed: by the error's code alone, as its message may name hosts. */
export function connectionFault(error: unknown, isBeforeHead: boolean): UpstreamFault {
  if (error instanceof UpstreamFault) return error;
  if (error === undefined) {
    const when = isBeforeHead ? "before it answered" : "in the middle of its answer";
    return new UpstreamFault("broken", `The connection to the provider was closed ${when}`);
  }
  const code = codeOf(error);
  if (code === "ETIMEDOUT") return connectTimeout(error);
  const reason =
    reasons[code] ?? (isCertificateCode(code) ? `its TLS certificate is not accepted (${code})` : undefined);
  const tls = /SSL|TLS/.test(code) ? `TLS failed (${code})` : undefined;
  return new UpstreamFault("broken", `The connection to the provider failed: ${reason ?? tls ?? "it broke off"}`, {
    cause: error,
  });
}

export function connectTimeout(cause?: unknown): UpstreamFault {
  return new UpstreamFault("timeout", "The connection to the provider did not come about in the time allowed", {
    cause,
  });
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && /^[A-Z\d_]{1,64}$/.test(code) ? code : "";
}

/** OpenSSL's verification results and Node's name check, as `node:tls` names them. */
function isCertificateCode(code: string): boolean {
  return /CERT|ALTNAME|UNABLE_TO|ISSUER|HOSTNAME_MISMATCH|INVALID_CA/.test(code);
}
