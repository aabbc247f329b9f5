// One line for each module that adds something to the dashboard.
export { alerts } from "./alerts/dashboard/index.ts";
export { contentLog } from "./content-log/dashboard/index.ts";
export { payments } from "./payments/dashboard/index.ts";
