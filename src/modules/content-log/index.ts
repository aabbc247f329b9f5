export { type ContentLog, openContentLog } from "./content-log.ts";
export { readSwitches, setSwitch } from "./switches.ts";
