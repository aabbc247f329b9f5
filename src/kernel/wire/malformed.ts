import { UpstreamFault } from "../../contract/index.ts";

/** An answer that is not HTTP, or HTTP of a kind that could be read in two ways. */
export function malformed(what: string): UpstreamFault {
  return new UpstreamFault("broken", `The provider's answer is not valid HTTP: ${what}`);
}
