export { Progress } from "./call-context.ts";
export { makeCallId } from "./call-id.ts";
export type { CallObserver } from "./call-watch.ts";
export { readAudioMs } from "./capabilities/audio-length.ts";
export type { Kernel, Log } from "./kernel.ts";
export type { StreamSink } from "./outlet.ts";
export { LoadShedder, type RunningCall } from "./overload.ts";
export { type Order, serve } from "./pipeline.ts";
export { describeRoutes, type RouteState } from "./routing/describe-routes.ts";
export {
  buildRegistry,
  type Credential,
  type ModelEntry,
  type Refusal,
  type Registry,
  type RegistryMemory,
  type Route,
} from "./routing/registry.ts";
export { openNetwork, type UpstreamBounds } from "./upstream/network.ts";
export { TimeoutScheduler } from "./upstream/timeouts.ts";
