export { describeProviders } from "./describe-providers.ts";
export { Providers } from "./providers.ts";
export { describeFault } from "./test-connection.ts";
