import type { ProviderPlugin } from "../provider/index.ts";

/**
 * A provider's side of a protocol, as {@link Inbound} is the client's: an outbound wire format writes a uniform request
 * as the provider wants it, and makes uniform answers and chunks of what comes back. It is the part of a plugin that
 * does not depend on the provider's name, address, keys and models; a plugin is both together.
 *
 * The handlers do the work, and the rest tells the kernel what it may ask of them: `checks` refuse what could not be
 * said, `maxChoices` is how many answers one request may ask for, `modelOptions` what a row may set, and `readError`
 * and `readUsage` read refusals and usage as the provider writes them.
 */
export type Outbound = Pick<ProviderPlugin, "handlers" | "maxChoices"> &
  Required<Pick<ProviderPlugin, "modelOptions" | "checks">> &
  Partial<Pick<ProviderPlugin, "readError" | "readUsage">>;
