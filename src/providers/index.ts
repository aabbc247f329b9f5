export { sendsKeyInClear } from "./check-manifest.ts";
export { describeProviders } from "./describe-providers.ts";
export { ProviderSettings } from "./provider-settings.ts";
export { Providers } from "./providers.ts";
export { hasSecrets, SecretBox, type StoredSmtp, sealSecret, smtpSetting } from "./secret-box.ts";
export { describeFault } from "./test-connection.ts";
