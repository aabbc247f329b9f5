/** The text of the file, which is part of the built program. */
declare module "*.sql" {
  const text: string;
  export default text;
}
