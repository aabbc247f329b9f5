// One line for each module of the gateway; `pages.ts` has those with pages.
export { payments } from "./payments/index.ts";
