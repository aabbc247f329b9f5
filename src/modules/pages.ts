// One line for each module that adds something to the dashboard.
export { contentLog } from "./content-log/dashboard/index.ts";
export { payments } from "./payments/dashboard/index.ts";
