import type { Place, Value, Word } from "./places.ts";

/**
 * Writes the completion for fish. A condition says where each word is offered: a function has the place that the words before the cursor
 * lead to, and how many arguments follow it.
 */
export function toFish(places: readonly Place[]): string {
  const named = places.filter(({ path }) => path !== "").map(({ path }) => quoteFish(path));
  const valueFlags = places.flatMap(({ path, flags }) =>
    flags.filter(({ value }) => value !== undefined).map(({ word }) => quoteFish(`${path} ${word}`)),
  );
  return `# Completion of modelgate for fish. Load it in ~/.config/fish/config.fish: modelgate completion fish | source
function __modelgate_read
    set -g __modelgate_place ''
    set -g __modelgate_flags 0
    set -g __modelgate_count 0
    set -l flag ''
    for word in $argv[2..-1]
        if test -n "$flag"
            set flag ''
            continue
        end
        if string match -q -- '-*' $word
            set __modelgate_flags 1
            switch "$__modelgate_place $word"
                case ${valueFlags.join(" ")}
                    set flag $word
            end
            continue
        end
        if test $__modelgate_count = 0 -a $__modelgate_flags = 0
            set -l longer (string trim -- "$__modelgate_place $word")
            switch $longer
                case help ${named.join(" ")}
                    test "$longer" = help; or set __modelgate_place $longer
                    continue
            end
        end
        set __modelgate_count (math $__modelgate_count + 1)
    end
end
function __modelgate_at
    # Each word has its condition: the line is read once for all of them.
    set -l line (commandline -c)
    if test "$line" != "$__modelgate_line"
        set -g __modelgate_line "$line"
        __modelgate_read (commandline -opc)
    end
    test "$__modelgate_place" = "$argv[1]"; or return 1
    switch "$argv[2]"
        case ''
            return 0
        case words
            test $__modelgate_count = 0 -a $__modelgate_flags = 0
        case '*'
            test $__modelgate_count = "$argv[2]"
    end
end
complete -c modelgate -f
${places.flatMap(toLines).join("\n")}
`;
}

function toLines({ path, words, flags, args }: Place): string[] {
  const at = (rest: string) => `complete -c modelgate -n ${quoteFish(`__modelgate_at ${quoteFish(path)}${rest}`)}`;
  return [
    ...words.map((word) => `${at(" words")} -a ${quoteFish(word.word)} ${describe(word)}`),
    ...args.flatMap((value, index) => {
      const options = toOptions(value);
      return options === "" ? [] : [`${at(` ${index}`)} ${options}`];
    }),
    ...flags.map((flag) => {
      const value =
        flag.value === undefined ? "" : ` ${flag.value.isFile ? "-r" : "-x"} ${toOptions(flag.value)}`.trimEnd();
      return `${at("")} -l ${flag.word.slice(2)}${value} ${describe(flag)}`;
    }),
  ];
}

function toOptions({ choices, isFile }: Value): string {
  if (isFile) return "-F";
  return choices === undefined ? "" : `-a ${quoteFish(choices.join(" "))}`;
}

function describe({ description }: Word): string {
  return `-d ${quoteFish(description)}`;
}

/** Between single quotes, fish knows a backslash before a quote and before itself. */
function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
