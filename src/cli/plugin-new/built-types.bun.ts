/**
 * The types of `modelgate/plugin` as they were built into the binary. The build puts another module in the place of this
 * one; in a checkout they are made from the sources when `plugin new` asks for them.
 */
export const builtTypes: string | undefined = undefined;
