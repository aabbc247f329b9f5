export { type ContentLog, openContentLog } from "./content-log.ts";
