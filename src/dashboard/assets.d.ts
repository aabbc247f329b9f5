/** A picture of the page; the value is its address. */
declare module "*.svg" {
  const address: string;
  export default address;
}
