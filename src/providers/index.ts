export { describeProviders } from "./describe-providers.ts";
export { ProviderSettings, type SandboxSetting } from "./provider-settings.ts";
export { Providers } from "./providers.ts";
export { describeFault } from "./test-connection.ts";
