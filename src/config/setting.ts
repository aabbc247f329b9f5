/** How the text of a variable becomes a checked value; `undefined` means that it cannot be used. */
export interface Parser<T> {
  readonly expected: string;
  /** @throws {RangeError} With the problem, if it is more specific than an unusable value. */
  parse(text: string): T | undefined;
}

/** One environment variable. */
export interface Setting<T = unknown> extends Parser<T> {
  readonly variable: string;
  /** The text used when the variable is not set. */
  readonly fallback: string | undefined;
  /** A secret's value is never shown. */
  readonly secret: boolean;
}

export function setting<T>(variable: string, fallback: string, parser: Parser<T>): Setting<T> {
  return { variable, fallback, secret: false, ...parser };
}

export function optional<T>(variable: string, parser: Parser<T>, secret = false): Setting<T | undefined> {
  return { variable, fallback: undefined, secret, ...parser };
}

export const secret = <T>(variable: string, parser: Parser<T>) => optional(variable, parser, true);

/** @param units For example ` of seconds`. @param meaning Explains the minimum. */
export function integer(minimum: number, maximum = Number.MAX_SAFE_INTEGER, units = "", meaning = ""): Parser<number> {
  const limit = maximum === Number.MAX_SAFE_INTEGER ? "" : ` to ${maximum}`;
  return {
    expected: `a whole number${units} from ${minimum}${meaning}${limit}`,
    parse(text) {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return Number.isSafeInteger(value) && value >= minimum && value <= maximum ? value : undefined;
    },
  };
}

export function choice<const T extends string>(...words: T[]): Parser<T> {
  return {
    expected: `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`,
    parse: (text) => words.find((word) => word === text.toLowerCase()),
  };
}

export function accepted(isValid: (text: string) => boolean, expected: string): Parser<string> {
  return { expected, parse: (text) => (isValid(text) ? text : undefined) };
}

export const matching = (pattern: RegExp, expected: string) => accepted((text) => pattern.test(text), expected);
export const anyText = (expected: string) => matching(/^/, expected);

export type Settings = Readonly<Record<string, Setting>>;

/** The values of these settings. */
export type ValuesOf<S extends Settings> = {
  readonly [Name in keyof S]: S[Name] extends Setting<infer Value> ? Value : never;
};

/** The settings of a module. */
export interface SettingGroup<S extends Settings = Settings> {
  readonly settings: S;
  /** The variable that they follow in `modelgate config`; absent: they come last. */
  readonly after?: string;
  /** Settings that only work together: all of a list are set, or none. */
  readonly together?: readonly (readonly string[])[];
  /** Finds a variable that cannot be used with the others. @param textOf Reads a variable of the gateway or another module. */
  check?(values: ValuesOf<S>, textOf: (variable: string) => string | undefined): SettingProblem | undefined;
}

interface SettingProblem {
  readonly variable: string;
  readonly problem: string;
}

/** Declares the settings of a module. `config.of` returns their values. */
export function defineSettings<const S extends Settings>(
  group: SettingGroup<S> & { readonly together?: readonly (readonly (keyof S)[])[] },
): SettingGroup<S> {
  return group;
}
