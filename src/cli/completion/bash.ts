import { getArguments, getValueFlags, type Place, quote, type Value } from "./places.ts";

/**
 * Writes the completion for bash. It runs in bash 3.2 too, which macOS has. Each word of the command line before the cursor leads to
 * a place, or is an argument, a flag or the value of one; `words` is what can come next.
 */
export function toBash(places: readonly Place[]): string {
  const lines = (rows: readonly string[]) => rows.map((row) => `      ${row}`).join("\n");
  const join = (words: readonly { readonly word: string }[]) => quote(words.map(({ word }) => word).join(" "));
  const valueFlags = getValueFlags(places);
  const named = places.filter(({ path }) => path !== "");
  return `# Completion of modelgate for bash. Load it in ~/.bashrc: eval "$(modelgate completion bash)"
_modelgate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" place="" flag="" words="" flags="" files="" used=" " count=0 index word
  # bash has the "=" of --flag=value as a word of its own.
  if [[ $current == "=" ]]; then current=""; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [[ $word == "=" || ( $index == 1 && $word == "help" ) ]]; then continue; fi
    if [[ -n $flag ]]; then
      flag=""
      continue
    fi
    if [[ $word == -* ]]; then
      used="$used$word "
      case "$place $word" in
${lines(valueFlags.map(({ path, word }) => `${quote(`${path} ${word}`)}) flag="$word" ;;`))}
      esac
      continue
    fi
    if [[ $count == 0 && $used == " " ]]; then
      case "\${place:+$place }$word" in
${lines([`${named.map(({ path }) => quote(path)).join("|")})`])}
          place="\${place:+$place }$word"
          continue
          ;;
      esac
    fi
    count=$((count + 1))
  done
  if [[ -n $flag ]]; then
    case "$place $flag" in
${lines(valueFlags.flatMap(({ path, word, value }) => toCase(`${path} ${word}`, value)))}
    esac
  else
    case "$place" in
${lines(places.map(({ path, words, flags }) => `${quote(path)}) words=${join(words)} flags=${join(flags)} ;;`))}
    esac
    # The words of a command come before its flags and arguments.
    if [[ $count != 0 || $used != " " ]]; then words=""; fi
    case "$place $count" in
${lines(getArguments(places).flatMap(({ path, index, value }) => toCase(`${path} ${index}`, value)))}
    esac
    if [[ $current == -* || ( -z $words && -z $files ) ]]; then
      words=" $flags "
      files=""
      # A flag is given once.
      for word in $used; do words="\${words/ $word / }"; done
    fi
  fi
  COMPREPLY=()
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  else
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
  fi
}
complete -F _modelgate modelgate
`;
}

function toCase(pattern: string, { choices, isFile }: Value): string[] {
  if (isFile) return [`${quote(pattern)}) files=yes ;;`];
  return choices === undefined ? [] : [`${quote(pattern)}) words=${quote(choices.join(" "))} ;;`];
}
