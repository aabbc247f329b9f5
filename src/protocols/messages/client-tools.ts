/**
 * Tools of Anthropic's that the client runs. A request names only their type and their name: Claude knows their arguments
 * by heart. Another model is told of them as of any function, by the arguments that Anthropic documents, so that its
 * calls are ones that the client can run. https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview
 */

/** Parts of a tool that a model reads beside its name. */
interface ToolDescription {
  readonly description: string;
  readonly input_schema: object;
}

type ToolFields = Readonly<Record<string, unknown>>;

interface Family {
  /** Members of the tool in a request that its description tells of. */
  readonly members: readonly string[];
  describe(tool: ToolFields): ToolDescription;
}

const text = (description: string) => ({ type: "string", description });
const choice = (values: readonly string[], description: string) => ({ type: "string", enum: values, description });
const integer = (description: string) => ({ type: "integer", description });
const integers = (description: string) => ({ type: "array", items: { type: "integer" }, description });
const schemaOf = (properties: object, required: readonly string[] = []) => ({ type: "object", properties, required });

const viewRange = integers("For view: the first and the last line to show, counted from 1; -1 is the end of the file");
const insertLine = integer("For insert: the line after which the text goes; 0 is the beginning of the file");

const bash: Family = {
  members: [],
  describe: () => ({
    description:
      "Runs a command in a bash session that stays open: its directory, variables and files are there for the next command. Commands cannot ask for input.",
    input_schema: schemaOf({
      command: text("The command to run; required unless restart is true"),
      restart: { type: "boolean", description: "true starts the session anew" },
    }),
  }),
};

/** The editor of the first models, whose insert takes `new_str`, and which could undo. */
const firstEditor = "str_replace_editor";

const textEditor: Family = {
  members: ["max_characters"],
  describe({ name, max_characters: charactersMax }) {
    const isFirst = name === firstEditor;
    const commands = ["view", "create", "str_replace", "insert", ...(isFirst ? ["undo_edit"] : [])];
    const bound = typeof charactersMax === "number" ? ` A view has at most ${charactersMax} characters.` : "";
    const replacing = "For str_replace: the new text; left out, the old text is deleted";
    return {
      description: `Looks at files and directories, and creates and edits text files.${bound}`,
      input_schema: schemaOf(
        {
          command: choice(commands, "What to do"),
          path: text("The path of the file or directory"),
          file_text: text("For create: the text of the file"),
          old_str: text("For str_replace: the text to replace, exactly as it is in the file, where it occurs once"),
          new_str: text(isFirst ? `${replacing}. For insert: the text to insert` : replacing),
          insert_line: insertLine,
          ...(!isFirst && { insert_text: text("For insert: the text to insert") }),
          view_range: viewRange,
        },
        ["command", "path"],
      ),
    };
  },
};

const memory: Family = {
  members: [],
  describe: () => ({
    description:
      "Keeps notes in files below /memories, which outlast the conversation. Before a task, view the directory /memories and read what is of use; while you work, write down what has to be known later.",
    input_schema: schemaOf(
      {
        command: choice(["view", "create", "str_replace", "insert", "delete", "rename"], "What to do"),
        path: text("The path of the file or directory, below /memories; for all commands except rename"),
        view_range: viewRange,
        file_text: text("For create: the text of the file"),
        old_str: text("For str_replace: the text to replace, exactly as it is in the file, where it occurs once"),
        new_str: text("For str_replace: the new text"),
        insert_line: insertLine,
        insert_text: text("For insert: the text to insert"),
        old_path: text("For rename: the present path"),
        new_path: text("For rename: the new path"),
      },
      ["command"],
    ),
  }),
};

const firstActions = `key type mouse_move left_click left_click_drag right_click middle_click double_click screenshot
  cursor_position`.split(/\s+/);
const laterActions = "left_mouse_down left_mouse_up scroll hold_key wait triple_click".split(" ");
/** The type of the first version, which has the first actions alone. */
const firstComputer = "computer_20241022";

const computer: Family = {
  members: ["display_width_px", "display_height_px", "display_number", "enable_zoom"],
  describe({ type, display_width_px: width, display_height_px: height, display_number: display, enable_zoom: zooms }) {
    const isFirst = type === firstComputer;
    const actions = [...firstActions, ...(isFirst ? [] : laterActions), ...(zooms === true ? ["zoom"] : [])];
    const size = typeof width === "number" && typeof height === "number" ? ` of ${width} by ${height} pixels` : "";
    const place = typeof display === "number" ? `, display ${display}` : "";
    return {
      description: `Uses the mouse, the keyboard and the screen${size}${place} of a computer. Take a screenshot first, and after an action to see what it did.`,
      input_schema: schemaOf(
        {
          action: choice(actions, "What to do"),
          coordinate: integers("[x, y] in pixels from the left upper corner: where to click, move, drag to or scroll"),
          ...(isFirst
            ? {}
            : {
                start_coordinate: integers("For left_click_drag: [x, y] where the drag begins"),
                scroll_direction: choice(["up", "down", "left", "right"], "For scroll"),
                scroll_amount: integer("For scroll: how many clicks of the wheel"),
                duration: { type: "number", description: "For hold_key and wait: seconds" },
              }),
          text: text(
            "For type: the text. For key and hold_key: the key or keys, such as ctrl+s. For clicks and scroll: a key to hold meanwhile",
          ),
          ...(zooms === true && { region: integers("For zoom: [x1, y1, x2, y2], the part of the screen to show") }),
        },
        ["action"],
      ),
    };
  },
};

const families: ReadonlyMap<string, Family> = new Map([
  ["bash", bash],
  ["text_editor", textEditor],
  ["memory", memory],
  ["computer", computer],
]);

/** Tools that Anthropic's servers run, with or without a date. */
const serverTool = /^(?:web_search|web_fetch|code_execution|tool_search_tool|advisor|mcp_toolset)(?:_|$)/;

/** Whether Anthropic's servers run the tools of a type. */
export function isServerTool(type: unknown): boolean {
  return typeof type === "string" && serverTool.test(type);
}

/**
 * A tool with the description and the schema that Anthropic documents for its type, of whatever date.
 *
 * @returns `undefined` for a tool of another type.
 *
 * @example
 * describeClientTool({ type: "bash_20250124", name: "bash" })?.tool.name; // => "bash"
 */
export function describeClientTool(
  tool: ToolFields,
): { readonly tool: Record<string, unknown>; readonly members: readonly string[] } | undefined {
  const [, kind = ""] = /^([a-z_]+)_\d{6,}$/.exec(typeof tool.type === "string" ? tool.type : "") ?? [];
  const family = families.get(kind);
  if (family === undefined) return undefined;
  return { tool: { ...tool, ...family.describe(tool) }, members: family.members };
}
