import { getArguments, getValueFlags, type Place, quote, type Value, type Word } from "./places.ts";

/**
 * Writes the completion for zsh. It can be read by a start file, and be a file `_modelgate` of a folder in `fpath`. See
 * `toBash` for how it goes; `$words` and `$path` mean something to zsh.
 */
export function toZsh(places: readonly Place[]): string {
  const lines = (rows: readonly string[]) => rows.map((row) => `      ${row}`).join("\n");
  const valueFlags = getValueFlags(places);
  const named = places.filter(({ path }) => path !== "");
  return `#compdef modelgate
# Completion of modelgate for zsh. Load it in ~/.zshrc behind compinit: eval "$(modelgate completion zsh)"
_modelgate() {
  local place="" flag="" files="" word="" used=" "
  local -a next flags choices
  integer count=0 index
  for ((index = 2; index < CURRENT; index++)); do
    word="\${words[index]}"
    if [[ $index == 2 && $word == "help" ]]; then continue; fi
    if [[ -n $flag ]]; then
      flag=""
      continue
    fi
    if [[ $word == -* ]]; then
      used="$used\${word%%=*} "
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
  if [[ -z $flag && $PREFIX == --*=* ]]; then
    flag="\${PREFIX%%=*}"
    compset -P '*='
  fi
  if [[ -n $flag ]]; then
    case "$place $flag" in
${lines(valueFlags.flatMap(({ path, word, value }) => toCase(`${path} ${word}`, value)))}
    esac
    if [[ -n $files ]]; then
      _files
    elif (( $#choices )); then
      compadd -- $choices
    fi
    return
  fi
  case "$place" in
${lines(places.flatMap(toPlaceCase))}
  esac
  # The words of a command come before its flags and arguments.
  if [[ $count != 0 || $used != " " ]]; then next=(); fi
  case "$place $count" in
${lines(getArguments(places).flatMap(({ path, index, value }) => toCase(`${path} ${index}`, value)))}
  esac
  # A flag is given once.
  for word in \${=used}; do flags=("\${(@)flags:#$word:*}"); done
  if [[ $PREFIX != -* ]]; then
    if [[ -n $files ]]; then
      _files
      return
    elif (( $#choices )); then
      compadd -- $choices
      return
    elif (( $#next )); then
      _describe command next
      return
    fi
  fi
  _describe -o flag flags
}
if [[ $funcstack[1] == _modelgate ]]; then
  _modelgate "$@"
else
  compdef _modelgate modelgate
fi
`;
}

function toPlaceCase({ path, words, flags }: Place): string[] {
  return [`${quote(path)})`, `  next=(${describe(words)})`, `  flags=(${describe(flags)})`, "  ;;"];
}

/** `word:description`, as `_describe` reads it. */
function describe(words: readonly Word[]): string {
  return words.map(({ word, description }) => quote(`${word}:${description}`)).join(" ");
}

function toCase(pattern: string, { choices, isFile }: Value): string[] {
  if (isFile) return [`${quote(pattern)}) files=yes ;;`];
  return choices === undefined ? [] : [`${quote(pattern)}) choices=(${choices.map(quote).join(" ")}) ;;`];
}
