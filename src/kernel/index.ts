export { type AnswerOf, CallContext, type StreamSink } from "./call-context.ts";
export { makeCallId } from "./call-id.ts";
export { readAudioMs } from "./capabilities/transcription.ts";
export { LoadShedder } from "./overload.ts";
export { runCall } from "./pipeline.ts";
export {
  buildRegistry,
  type Credential,
  describeRoutes,
  type ModelEntry,
  type Refusal,
  type Registry,
  type RegistryMemory,
  type Route,
  type RouteState,
} from "./routing/registry.ts";
export type { CallObserver, Kernel, Log } from "./types.ts";
export { openNetwork, type UpstreamBounds } from "./upstream/network.ts";
export { monotonicNow, TimeoutScheduler } from "./upstream/timeouts.ts";
