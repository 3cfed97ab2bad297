/// The version of Lifeboat, written into every record it makes.
package let toolVersion = "0.1.0"
