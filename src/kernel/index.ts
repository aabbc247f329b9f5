export { classifyAttempt } from "./attempt-end.ts";
export {
  Attempt,
  type CallMemoryBounds,
  type CancelReason,
  type ChatSink,
  ClientCall,
  type ClientRequest,
  type ExchangeAnswer,
  type ExchangeRequest,
  ModelRun,
  type SinkOf,
  type StreamSink,
} from "./call.ts";
export { countPassthrough } from "./capabilities/chat-count.ts";
export { chooseSpeechFormat } from "./capabilities/speech.ts";
export { countTokens } from "./normalize/tokenizer.ts";
export { LoadShedder, type Slot } from "./overload.ts";
export { Passthrough } from "./passthrough.ts";
export { runCall } from "./pipeline.ts";
export type { PolicyRule } from "./policies/policy-rules.ts";
export { isProbed, type ProbeResult, probe } from "./probe.ts";
export { MemoryTurns } from "./prompt-cache/memory-turns.ts";
export { PromptCaching } from "./prompt-caching.ts";
export {
  buildRegistry,
  type CandidateQuery,
  type Candidates,
  type Credential,
  describeRoutes,
  type ExplainAbsence,
  findCandidates,
  type Markups,
  type ModelEntry,
  mayUse,
  openForMs,
  publicNameOf,
  type Refusal,
  type Registry,
  type RegistryMemory,
  type ResumedRoutes,
  type Route,
  type RouteState,
  resumeRoutes,
} from "./routing/registry.ts";
export type { Reroute } from "./routing/reroutes.ts";
export { createVirtualModel, type VirtualModel } from "./routing/virtual-models.ts";
export {
  type CallObserver,
  combineObservers,
  type Kernel,
  type Log,
  type PromptTurns,
  type UnrunCall,
} from "./types.ts";
export { createPublicRequest, fetchDocument } from "./upstream/download.ts";
export { ConnectionError, isHeaderValue, monotonicNow, TimeoutScheduler } from "./upstream/http-client.ts";
export { type Network, openNetwork, type UpstreamBounds } from "./upstream/network.ts";
export type { ProviderLane } from "./upstream/provider-lanes.ts";
export { getBaseUrl, isLocalHost, isPublicAddress, resolveHost, SsrfGuard } from "./upstream/ssrf-guard.ts";
export type { Steering } from "./upstream/steering.ts";
