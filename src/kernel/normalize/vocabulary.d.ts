/** A vocabulary as text, imported with `type: "text"`. */
declare module "*.tiktoken" {
  const text: string;
  export default text;
}
