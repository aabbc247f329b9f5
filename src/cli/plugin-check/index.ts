export { checkPlugin, type Mark } from "./check-plugin.ts";
export { type Fixture, readFixtures } from "./fixture.ts";
