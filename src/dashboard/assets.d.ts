/** An imported image; the value is its URL. */
declare module "*.svg" {
  const address: string;
  export default address;
}
