"""What the matrix schemes share: operands, products, results."""
