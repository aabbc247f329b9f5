export {
  type AnswerOf,
  Attempt,
  Call,
  type CallMemoryBounds,
  type CancelReason,
  type ChatSink,
  type ClientRequest,
  ModelRun,
  type RequestOf,
  type SinkOf,
  type StreamSink,
} from "./call.ts";
export { countPassthrough } from "./capabilities/count-prompt.ts";
export { chooseSpeechFormat } from "./capabilities/speech.ts";
export { countTokens } from "./normalize/tokenizer.ts";
export { LoadShedder } from "./overload.ts";
export { Passthrough } from "./passthrough.ts";
export { runCall } from "./pipeline.ts";
export { isProbed, type ProbeResult, probe } from "./probe.ts";
export { mayUse } from "./routing/allowed-models.ts";
export {
  buildRegistry,
  type Credential,
  describeRoutes,
  type Refusal,
  type RegistryMemory,
  type RouteState,
} from "./routing/build-registry.ts";
export { type CandidateQuery, findCandidates } from "./routing/candidates.ts";
export { type Candidates, type ModelEntry, publicNameOf, type Registry, type Route } from "./routing/registry.ts";
export { createVirtualModel, type VirtualModel } from "./routing/virtual-models.ts";
export type { CallDetail } from "./settlement.ts";
export type { CallObserver, Kernel, Log } from "./types.ts";
export { getBaseUrl } from "./upstream/authorize.ts";
export { ConnectionError } from "./upstream/connection-error.ts";
export { createPublicRequest, fetchDocument } from "./upstream/download.ts";
export { isHeaderValue } from "./upstream/http-client.ts";
export { keepJsonText, keptCharsMin, type ValueSpan } from "./upstream/json-text.ts";
export { type Network, openNetwork, type UpstreamBounds } from "./upstream/network.ts";
export { isLocalHost, isPublicAddress, resolveHost, SsrfGuard } from "./upstream/ssrf-guard.ts";
export { monotonicNow, TimeoutScheduler } from "./upstream/timeouts.ts";
