export { describeProviders } from "./describe-providers.ts";
export { Providers } from "./providers.ts";
export { SecretBox } from "./secret-box.ts";
export { describeFault } from "./test-connection.ts";
