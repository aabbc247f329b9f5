// One line for each module of the gateway; `pages.ts` has those with pages.
export { alerts } from "./alerts/index.ts";
export { contentLog } from "./content-log/index.ts";
export { otlp } from "./otlp/index.ts";
export { payments } from "./payments/index.ts";
