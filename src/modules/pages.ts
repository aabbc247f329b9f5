// One line for each module that adds something to the dashboard.
export { payments } from "./payments/dashboard/index.tsx";
