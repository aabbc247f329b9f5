export { readAudioMs } from "./audio-length.ts";
export { makeCallId } from "./call-id.ts";
export type { CallWatch } from "./call-watch.ts";
export { Deadlines } from "./deadlines.ts";
export { describeRoutes, type RouteState } from "./describe-routes.ts";
export type { Kernel, Log } from "./kernel.ts";
export type { Outlet } from "./outlet.ts";
export { LoadShedder, type RunningCall } from "./overload.ts";
export { Progress } from "./progress.ts";
export {
  buildRegistry,
  type Credential,
  type Offer,
  type Refusal,
  type Registry,
  type RegistryMemory,
  type Route,
} from "./registry.ts";
export { type Order, serve } from "./serve.ts";
export { openNetwork, type UpstreamBounds } from "./upstream/network.ts";
