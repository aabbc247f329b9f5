import { contractVersion } from "../contract/index.ts";

/** What each version of the contract changed for the author of a plugin. A new version adds a row. */
const contractChanges: Readonly<Record<number, string>> = {
  1: "the first version: definePlugin with name, baseUrl, models and handlers",
};

/**
 * Why a plugin written for another version of the contract is refused, with what changed since and what to do.
 *
 * @param written The plugin's own `contractVersion`, whatever stands there.
 * @returns `undefined` when it is the version this gateway speaks.
 */
export function contractMismatch(
  written: unknown,
  spoken: number = contractVersion,
  changes: Readonly<Record<number, string>> = contractChanges,
): string | undefined {
  if (written === spoken) return undefined;
  if (typeof written !== "number" || !Number.isInteger(written) || written < 0) {
    return `contractVersion is ${JSON.stringify(written)}, expected the number ${spoken}; write it, or leave the field out`;
  }
  const versions = `it is written for contract ${written}, this gateway speaks ${spoken}`;
  if (written > spoken) return `${versions}; update the gateway, or get the plugin's version for contract ${spoken}`;
  const changed = Object.entries(changes).filter(([version]) => Number(version) > written && Number(version) <= spoken);
  const list = changed.map(([version, change]) => `contract ${version}: ${change}`).join("; ");
  return `${versions}; what changed: ${list}; adapt the plugin and write contractVersion: ${spoken}`;
}
