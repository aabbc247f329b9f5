export { checkPlugin } from "./check-plugin.ts";
export { readFixtures } from "./fixture.ts";
