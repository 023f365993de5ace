"""Parts of the matrix schemes: operands, products, results."""
